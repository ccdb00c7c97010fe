package weights

import "strings"

// Values that a pickle builds. Plain ones are Go's own: nil, bool, int64,
// *big.Int, float64, string, []byte.

// pyList is a list or a set.
type pyList struct{ items []any }

// pyDict keeps the order of insertion. A key set twice stands twice; readers
// take the last.
type pyDict struct{ items []any } // keys and values alternate

func (d *pyDict) len() int { return len(d.items) / 2 }

// get returns the value of a string key.
func (d *pyDict) get(key string) (any, bool) {
	for i := len(d.items) - 2; i >= 0; i -= 2 {
		if k, ok := d.items[i].(string); ok && k == key {
			return d.items[i+1], true
		}
	}
	return nil, false
}

// pyStorage is what a persistent id stands for: a run of elements in the file.
type pyStorage struct {
	key   string
	elems int64
	// data is nil until the storage is found, which in the legacy format is
	// after the tensors that use it.
	data *blob
	off  int64 // bytes into data
	// root and rootOff describe a view of another storage (legacy files only).
	root    *pyStorage
	rootOff int64 // elements
	dtype   DType
	// untyped storages count bytes; the tensor brings the type.
	untyped bool
}

// pyTensor is a strided array over a storage.
type pyTensor struct {
	storage *pyStorage
	dtype   DType
	offset  int64
	size    []int
	steps   *steps
}

// globalKind says what a known global may be used for.
type globalKind uint8

const (
	globalDict globalKind = iota
	globalSet
	globalSize
	globalDevice
	globalType // of a tensor: an argument only
	globalDType
	globalStorage
	globalUntyped
	globalTensor   // _rebuild_tensor: storage, offset, size, stride
	globalTensorV2 // and requires_grad, hooks[, metadata]
	globalTensorV3 // and requires_grad, hooks, dtype[, metadata]
	globalParameter
	globalFromType
	globalDefaultDict
	// globalInert is a global that this package does not know: a call of it makes
	// an unread object.
	globalInert
)

// pyGlobal is a global that a pickle names.
type pyGlobal struct {
	name  string
	kind  globalKind
	dtype DType
}

// knownGlobal is the whole list of what makes values that are read. None of it runs
// code: each stands for the making of a plain value of this package.
func knownGlobal(module, name string) (*pyGlobal, bool) {
	full := module + "." + name
	g := func(kind globalKind) (*pyGlobal, bool) { return &pyGlobal{name: full, kind: kind}, true }
	switch full {
	case "collections.OrderedDict", "collections.Counter":
		return g(globalDict)
	case "collections.defaultdict":
		return g(globalDefaultDict)
	case "builtins.set", "builtins.frozenset":
		return g(globalSet)
	case "torch.Size":
		return g(globalSize)
	case "torch.device":
		return g(globalDevice)
	case "torch.Tensor", "torch.nn.parameter.Parameter":
		return g(globalType)
	case "torch._utils._rebuild_tensor":
		return g(globalTensor)
	case "torch._utils._rebuild_tensor_v2":
		return g(globalTensorV2)
	case "torch._utils._rebuild_tensor_v3":
		return g(globalTensorV3)
	case "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state":
		return g(globalParameter)
	case "torch._tensor._rebuild_from_type_v2":
		return g(globalFromType)
	case "torch.storage.UntypedStorage", "torch.storage._UntypedStorage":
		return g(globalUntyped)
	}
	if module == "torch" || module == "torch.cuda" {
		if d, ok := storageDType(name); ok {
			return &pyGlobal{full, globalStorage, d}, true
		}
	}
	if d, ok := dtypeByName(name); ok && module == "torch" {
		return &pyGlobal{full, globalDType, d}, true
	}
	return nil, false
}

// makesTensors reports whether a module's functions make tensors. Those that are
// not known make tensors of a kind that is not read, which must not be missed.
func makesTensors(module string) bool {
	return module == "torch._utils" || module == "torch._tensor" || module == "torch.storage"
}

// runsCode reports whether a file that names a global is refused as a whole. That
// is no guard, since nothing is ever called: it tells the owner of the file.
func runsCode(module, name string) bool {
	if makesTensors(module) {
		return true
	}
	top, _, _ := strings.Cut(module, ".")
	switch top {
	case "os", "posix", "nt", "subprocess", "commands", "pty", "runpy", "importlib", "imp", "ctypes", "code", "codeop",
		"shutil", "socket", "webbrowser", "pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "pip":
		return true
	case "builtins":
		switch name {
		case "eval", "exec", "execfile", "compile", "__import__", "open", "input", "breakpoint", "apply":
			return true
		}
	case "torch":
		return module == "torch" && name == "load" || module == "torch.serialization" && name == "load" || strings.HasPrefix(module, "torch.hub")
	}
	return false
}

func storageDType(name string) (DType, bool) {
	switch name {
	case "DoubleStorage":
		return Float64, true
	case "FloatStorage":
		return Float32, true
	case "HalfStorage":
		return Float16, true
	case "BFloat16Storage":
		return BFloat16, true
	case "LongStorage":
		return Int64, true
	case "IntStorage":
		return Int32, true
	case "ShortStorage":
		return Int16, true
	case "CharStorage":
		return Int8, true
	case "ByteStorage":
		return Uint8, true
	case "BoolStorage":
		return Bool, true
	case "ComplexFloatStorage":
		return Complex64, true
	case "ComplexDoubleStorage":
		return Complex128, true
	}
	return 0, false
}
