// Package backbone holds the networks that turn images into feature maps, one
// file a family. Parameter names are those of the public checkpoints, so that
// such a file can be read as it is. Sizes of a family are data of one description.
//
// Most programs only name one: in the settings of a run (package run), or in the
// specification of a model, which adds pooling, a linear layer and a metric:
//
//	spec, err := model.DefaultSpec("resnet50")
//	m, err := model.New(eng, spec, seed)
//
// New gives the network alone, by its name with options, as in
// "inceptionv3:trunk-end=Mixed_7a,count-pad=false", to be added to a graph of package
// layers. These are built in:
//
//	convnet      a small network trained from scratch
//	bninception  BN-Inception, Cadene's pretrained-models.pytorch
//	resnet18     ResNet-18, torchvision; also resnet34, 50, 101 and 152
//	efficientnetlite0  EfficientNet-Lite 0, efficientnet-lite-pytorch; also 1 and 2
//	convnexttiny ConvNeXt-Tiny, torchvision; also convnextsmall and convnextbase
//	inceptionv3  Inception-V3, torchvision
//	googlenet    GoogLeNet, torchvision
//	vits16       ViT-S/16, timm, DeiT with pixels=imagenet; also vitt, vits, vitb and
//	             vitl, each with patches of 8, 14, 16 and 32
//	dinos16      DINO ViT-S/16; also dinos8, dinob16, dinob8
//	dinov2s14    DINOv2 ViT-S/14; also dinov2b14, dinov2l14; with registers dinov2s14reg4
//	clipb32      OpenAI's CLIP, the tower of images; also clipb16, clipl14
//	openclipb32  OpenCLIP, which has another activation; also openclipb16, openclipl14
//	features     no network: rows of numbers that another one made
//
// A program has networks of its own: Sequence makes one of blocks, which Register gives a
// name, so that models, their files and the settings of runs have it. A block may end in
// an operation of the program's own (layers.Graph.HostOp). The program
// examples/custombackbone is a whole one.
package backbone
