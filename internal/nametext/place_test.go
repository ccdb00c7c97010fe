package nametext

import "testing"

func TestWithoutFolders(t *testing.T) {
	for text, want := range map[string]string{
		"folder:/home/ann/birds":    "folder:birds",
		"csv:/data/secret/list.csv": "csv:list.csv",
		"/home/ann/weights.pth":     "weights.pth",
		"/home/ann/birds/":          "birds",
		`folder:C:\Users\ann\birds`: "folder:birds",
		`C:/Users/ann/birds`:        "birds",
		`\\server\share\birds`:      "birds",
		"folder:/a/b, test classes": "folder:b, test classes",
		"folder:birds":              "folder:birds",
		"glyphs":                    "glyphs",
		"0.5":                       "0.5",
		"a/b":                       "a/b",
		"":                          "",
	} {
		if got := WithoutFolders(text); got != want {
			t.Errorf("WithoutFolders(%q) = %q, want %q", text, got, want)
		}
	}
}
