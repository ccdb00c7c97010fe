package public

import (
	"fmt"
	"path"
	"strings"

	"github.com/vernier-ml/vernier/internal/nearest"
)

// File is a public weight file.
type File struct {
	Name     string
	Summary  string // whose network, and what it was trained on
	Backbone string // the specification of the network that it is for
	License  string // what may be done with it, as far as its makers say
	Homepage string
	Bytes    int64 // about, of what is transferred
	URL      string
	// SHA256 is what is published of the checksum of what the address gives: all of its
	// hexadecimal digits, the first eight or nine, or "".
	SHA256 string
	// Member, if not "", is the weight file in the zip archive that the address gives,
	// and MemberSHA256 its checksum.
	Member, MemberSHA256 string
}

// FileName is how the file is called on disk, which other programs know it by.
func (f File) FileName() string {
	if f.Member != "" {
		return path.Base(f.Member)
	}
	name := path.Base(f.URL)
	if name == "model.safetensors" || name == "pytorch_model.bin" { // there are many of them
		return f.Name + path.Ext(name)
	}
	return name
}

// torchvision is a file of torchvision, whose name holds the first digits of its SHA-256.
func torchvision(name, backbone, file, trained string, bytes int64) File {
	sum := file[strings.LastIndexByte(file, '-')+1 : strings.LastIndexByte(file, '.')]
	return File{
		Name: name, Backbone: backbone, Summary: "torchvision, " + trained, Bytes: bytes,
		License:  "BSD-3-Clause, as torchvision; ImageNet is for non-commercial research",
		Homepage: "https://pytorch.org/vision/stable/models.html",
		URL:      "https://download.pytorch.org/models/" + file, SHA256: sum,
	}
}

// Files lists the files with an address that has been stable for years.
func Files() []File {
	const first, second = "trained on ImageNet (V1)", "trained on ImageNet with today's recipe (V2)"
	return []File{
		torchvision("resnet50-v1", "resnet50", "resnet50-0676ba61.pth", first, 102_540_417),
		torchvision("resnet50-v2", "resnet50", "resnet50-11ad3fa6.pth", second, 102_540_417),
		torchvision("googlenet", "googlenet", "googlenet-1378be20.pth", "trained on ImageNet", 52_147_035),
		torchvision("inceptionv3", "inceptionv3", "inception_v3_google-0cc3c7bd.pth", "Google's, trained on ImageNet", 108_949_747),
		{
			Name: "bninception", Backbone: "bninception", Summary: "Cadene's BN-Inception, from which Proxy-Anchor and others start, trained on ImageNet", Bytes: 45_200_000,
			License: "BSD-3-Clause, as pretrained-models.pytorch; ImageNet is for non-commercial research", Homepage: "https://github.com/Cadene/pretrained-models.pytorch",
			URL: "http://data.lip6.fr/cadene/pretrainedmodels/bn_inception-52deb4733.pth",
		},
		{
			Name: "dino-vits16", Backbone: "vits16:pixels=imagenet", Summary: "DINO's ViT-S/16, trained on ImageNet without labels", Bytes: 86_700_000,
			License: "Apache-2.0", Homepage: "https://github.com/facebookresearch/dino",
			URL: "https://dl.fbaipublicfiles.com/dino/dino_deitsmall16_pretrain/dino_deitsmall16_pretrain.pth",
		},
	}
}

// Find returns a file by its name.
func Find(name string) (File, error) {
	var names []string
	for _, f := range Files() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return File{}, fmt.Errorf("no public weight file is known as %q%s; there are %s", name, nearest.Hint(name, names), strings.Join(names, ", "))
}
