package fetch

import (
	"fmt"
	"strings"
)

// File is a file of a public set.
type File struct {
	Name string // as it is stored
	URL  string
	MD5  string // hexadecimal, as published; it tells files apart and is no protection
}

// Set is a public set that Get fetches.
type Set struct {
	Name     string
	Summary  string
	License  string // what may be done with it, as far as its makers say
	Homepage string
	Bytes    int64 // about, of all files
	Files    []File
	// Unpack is the folder that the only file, a .tgz, is unpacked to; "" for
	// sets that are read as they are.
	Unpack string
	// Spec is what Open takes, with %s for the folder that Get was given.
	Spec string
}

// Use is the specification to train on after Get into dir.
func (d Set) Use(dir string) string { return fmt.Sprintf(d.Spec, strings.TrimSuffix(dir, "/")) }

// idxFiles lists the four files of a set in the form of MNIST.
func idxFiles(base string, sums [4]string) (files []File) {
	for i, name := range []string{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"} {
		files = append(files, File{name, base + name, sums[i]})
	}
	return files
}

// Sets lists the sets with an address that has been stable for years and a
// published checksum.
func Sets() []Set {
	return []Set{
		{
			Name: "cub200", Summary: "Caltech-UCSD Birds-200-2011: 11,788 photographs of 200 species", Bytes: 1_150_585_339,
			License:  "non-commercial research and education; the photographs belong to those who took them",
			Homepage: "https://www.vision.caltech.edu/datasets/cub_200_2011/",
			Files:    []File{{"CUB_200_2011.tgz", "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz", "97eceeb196236b17998738112f37df78"}},
			Unpack:   "CUB_200_2011", Spec: "cub200:%s/CUB_200_2011",
		},
		{
			Name: "sop", Summary: "Stanford Online Products: 120,053 photographs of 22,634 products", Bytes: 3_080_000_000,
			License:  "no licence is stated; the photographs are of offers on eBay, collected for research",
			Homepage: "https://cvgl.stanford.edu/projects/lifted_struct/",
			Files:    []File{{"Stanford_Online_Products.zip", "http://ftp.cs.stanford.edu/cs/cvgl/Stanford_Online_Products.zip", "7f73d41a2f44250d4779881525aea32e"}},
			Spec:     "sop:%s/Stanford_Online_Products.zip",
		},
		{
			Name: "omniglot", Summary: "Omniglot, background set: 964 characters of 30 alphabets, 20 drawings each", Bytes: 9_500_000,
			License:  "MIT",
			Homepage: "https://github.com/brendenlake/omniglot",
			Files:    []File{{"images_background.zip", "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/images_background.zip", "68d2efa1b9178cc56df9314c21c6e718"}},
			Spec:     "folder:%s/images_background.zip",
		},
		{
			Name: "omniglot-evaluation", Summary: "Omniglot, evaluation set: 659 other characters of 20 alphabets", Bytes: 6_500_000,
			License:  "MIT",
			Homepage: "https://github.com/brendenlake/omniglot",
			Files:    []File{{"images_evaluation.zip", "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/images_evaluation.zip", "6b91aef0f799c5bb55b94e3f2daec811"}},
			Spec:     "folder:%s/images_evaluation.zip",
		},
		{
			Name: "mnist", Summary: "MNIST: 70,000 handwritten digits", Bytes: 11_600_000,
			License:  "CC BY-SA 3.0",
			Homepage: "http://yann.lecun.com/exdb/mnist/",
			Files: idxFiles("https://ossci-datasets.s3.amazonaws.com/mnist/", [4]string{
				"f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432", "9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c"}),
			Spec: "mnist:%s",
		},
		{
			Name: "fashion-mnist", Summary: "Fashion-MNIST: 70,000 pictures of 10 kinds of clothes", Bytes: 30_900_000,
			License:  "MIT",
			Homepage: "https://github.com/zalandoresearch/fashion-mnist",
			Files: idxFiles("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", [4]string{
				"8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe", "bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310"}),
			Spec: "mnist:%s",
		},
		{
			Name: "kmnist", Summary: "Kuzushiji-MNIST: 70,000 cursive Japanese characters of 10 classes", Bytes: 21_300_000,
			License:  "CC BY-SA 4.0",
			Homepage: "https://codh.rois.ac.jp/kmnist/",
			Files: idxFiles("http://codh.rois.ac.jp/kmnist/dataset/kmnist/", [4]string{
				"bdb82020997e1d708af4cf47b453dcf7", "e144d726b3acfaa3e44228e80efcd344", "5c965bf0a639b31b8f53240b1b52f4d7", "7320c461ea6c1c855c0b718fb2a4b134"}),
			Spec: "mnist:%s",
		},
	}
}

// Find returns a set by name. Of the well-known sets that cannot be
// fetched, the error says how else one comes by them.
func Find(name string) (Set, error) {
	var names []string
	for _, d := range Sets() {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	switch name {
	case "cars196":
		return Set{}, fmt.Errorf("cars196: its makers' address is gone and no other with a published checksum is known; put car_ims with cars_annos.mat, or cars_train, cars_test and devkit, or a folder a class into one folder and use cars196:FOLDER")
	case "inshop":
		return Set{}, fmt.Errorf("inshop: the makers of DeepFashion give it to those who sign an agreement (https://mmlab.ie.cuhk.edu.hk/projects/DeepFashion.html); unpack what they send into one folder and use inshop:FOLDER")
	}
	return Set{}, fmt.Errorf("unknown set %q; there are %s", name, strings.Join(names, ", "))
}
