// Package weights reads and writes files of named arrays: the parameters of a
// network, and the tables that are exported beside it.
//
// Open tells the format by the content, never by the name:
//
//	safetensors        every published dtype, parsed strictly
//	PyTorch, zip       what torch.save writes since 1.6
//	PyTorch, legacy    the stream of pickles that it wrote before
//	TorchScript        the tensors of what torch.jit.save writes, OpenAI's CLIP among it
//	.npy, .npz         NumPy arrays; entries of a .npz stored or deflated
//
// A File knows names, dtypes and shapes once it is open; the numbers stay on
// disk until one asks for them, and are converted chunk by chunk, so that
// loading a file takes the memory of the result and little more.
//
//	f, err := weights.Open("resnet50.pth")
//	...
//	defer f.Close()
//	w, err := f.Float32("conv1.weight") // row-major
//
// Load and Fit compare a file with the names and shapes that a network wants
// and report everything that does not agree at once.
//
// CreateSafetensors and CreateNPZ return a Writer that takes one tensor after
// another; WriteSafetensors, WriteNPZ and WriteNPY write all at once, and
// WriteONNX a network with its operators. A file appears under its name only
// when it is whole and synced to disk, and an error leaves the file of that name
// as it was.
//
// # Hostile files
//
// A weight file is data from strangers. Nothing in it is ever executed: the
// pickle reader is an interpreter of the few opcodes that build plain values and
// knows a short list of globals (OrderedDict, the tensor rebuild functions, the
// storage types). Objects of any other class, such as a namespace of arguments
// beside a state dict, stay unread; functions that only an attack has a use for
// are refused by name. Sizes that a header claims are
// compared with the size of the file before anything is allocated, so that a
// file cannot claim more than a small multiple of its own size.
package weights
