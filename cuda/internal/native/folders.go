package native

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Folder is one of PathVariable, with the libraries that the engine could take
// from it, or why there are none.
type Folder struct {
	Path    string
	Files   []string // names, without their folder
	Trouble string
}

func (f Folder) String() string {
	if f.Trouble != "" {
		return f.Path + ": " + f.Trouble
	}
	return f.Path + ": " + strings.Join(f.Files, ", ")
}

// Folders looks into the folders of PathVariable.
func (p Places) Folders() []Folder {
	// The names that are looked for, not those with a whole version behind.
	wanted := regexp.MustCompile(`^lib(cublas|cublasLt|cudnn|nvrtc|nccl)\.so\.\d+$`)
	var list []Folder
	for _, path := range unique(p.Own) {
		f := Folder{Path: path}
		for _, dir := range inside(path) {
			entries, _ := os.ReadDir(dir) // one that cannot be read is reported below, or has no part in this
			for _, e := range entries {
				if name := e.Name(); wanted.MatchString(name) && isFile(filepath.Join(dir, name)) {
					f.Files = append(f.Files, name)
				}
			}
		}
		slices.Sort(f.Files)
		f.Files = slices.Compact(f.Files)
		info, err := os.Stat(path)
		switch {
		case os.IsNotExist(err):
			f.Trouble = "there is no such folder"
		case err != nil:
			f.Trouble = err.Error()
		case !info.IsDir():
			f.Trouble = "it is no folder"
		case len(f.Files) == 0:
			f.Trouble = fmt.Sprintf("neither it nor its lib64 or lib has libcublas.so.%d or libcudnn.so.9, or older ones", newestRelease)
		}
		list = append(list, f)
	}
	return list
}

// inside are the folders of one of PathVariable that libraries are looked for in.
func inside(dir string) []string {
	return []string{dir, filepath.Join(dir, "lib64"), filepath.Join(dir, "lib")}
}

// name advises on PathVariable: to set it, or what is wrong with it as it is.
func (p Places) name() string {
	folders := p.Folders()
	if len(folders) == 0 {
		return "name its folder in " + PathVariable
	}
	var list []string
	for _, f := range folders {
		list = append(list, f.String())
	}
	return fmt.Sprintf("name its folder in %s, which now has %s", PathVariable, strings.Join(list, "; "))
}
