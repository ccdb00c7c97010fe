package weights

import (
	"strings"
	"testing"
)

func TestStrictSafetensorsHeader(t *testing.T) {
	const a = `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	for header, want := range map[string]string{
		`{` + a + `}`:          "",
		" \t":                  "must be a JSON object",
		`{` + a + `}  ` + "\n": "",
		`{"\u0061":{"shape":[1],"data_offsets":[0,4],"dtype":"F32"}}`:           "",
		`{` + a + `,"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`: "appears twice",
		`{` + a + `}x`: "1 bytes after the end",
		`{` + a + `,}`: `'"' expected`,
		`{` + a:        "the header ends",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}`:                `unknown member "x"`,
		`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`:        "dtype appears twice",
		`{"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}}`:          "shape appears twice",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]}}`: "data_offsets appears twice",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}`:                        "1 numbers instead of 2",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,2,4]}}`:                    "more than 2",
		`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`:                    "whole number",
		`{"a":{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}}`:                    "whole number",
		`{"a":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}}`:                     "whole number",
		`{"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}}`:                    "whole number",
		`{"a":{"dtype":"F32","shape":[null],"data_offsets":[0,4]}}`:                   "whole number",
		`{"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}}`:    "63 bits",
		`{"a":{"dtype":"F32","shape":[92233720368547758070],"data_offsets":[0,4]}}`:   "63 bits",
		`{"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}`:                      `unknown dtype "f32"`,
		`{"a":{"dtype":"","shape":[1],"data_offsets":[0,4]}}`:                         `unknown dtype ""`,
		`{"a":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}}`:                       "whole number of bytes",
		`{"a":{"shape":[1],"data_offsets":[0,4]}}`:                                    "no dtype",
		`{"a":{"dtype":"F32","data_offsets":[0,4]}}`:                                  "no shape",
		`{"a":[]}`:                             "'{' expected",
		`{"a` + "\n" + `":{}}`:                 "control character",
		`{"a\x":{}}`:                           "not JSON",
		`{"a`:                                  "without an end",
		`{"__metadata__":{"k":"v"},` + a + `}`: "",
		`{"__metadata__":{"k":1},` + a + `}`:   `metadata "k"`,
		`{"__metadata__":{"k":"v","k":"v"},` + a + `}`:    "twice",
		`{"__metadata__":{},"__metadata__":{},` + a + `}`: "twice",
		`{"__metadata__":null,` + a + `}`:                 "'{' expected",
	} {
		err := readAll("x.safetensors", safetensorsOf(header, make([]byte, 4)))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", header, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q in it", header, err, want)
		}
	}
}

func TestSafetensorsIsToldByContent(t *testing.T) {
	p := goldenFile(t, "mixed.safetensors")
	f, err := openBytes("model.bin", p)
	if err != nil || f.Format() != FormatSafetensors {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]Format{
		"mixed_zip.pth": FormatTorchZip, "mixed_legacy.pth": FormatTorchLegacy, "one.npy": FormatNPY, "dtypes.npz": FormatNPZ,
	} {
		f, err := openBytes("x", goldenFile(t, name))
		if err != nil || f.Format() != want {
			t.Errorf("%s without its extension: %v, want %v", name, err, want)
		}
	}
}
