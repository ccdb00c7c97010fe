package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/vernier-ml/vernier/client"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/browsertest"
	"github.com/vernier-ml/vernier/serve/page"
)

// onFocus is an expression that is true where something has the focus.
func onFocus(id string) string { return fmt.Sprintf("document.activeElement.id === %q", id) }

// The page is used in a browser: an image is dropped and found, a neighbor is marked, a
// class filtered, by keyboard alone, and the gallery grows while the page is open.
func TestThePageInABrowser(t *testing.T) {
	folder, images := trained(t)
	if code, _, errs := vernier(t, "verify", folder, "--calibrate", "far=0.05", "--store"); code != cli.ExitDone {
		t.Fatal(errs)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte(serveToken), 0o600); err != nil {
		t.Fatal(err)
	}
	marks := filepath.Join(t.TempDir(), "marks.jsonl")
	at, _, end := serving(t, folder, "--token-file", tokens, "--keep", t.TempDir(), "--marks", marks)
	defer end()
	c := asking(t, at)
	read := func(class string, i int) []byte {
		file, err := os.ReadFile(filepath.Join(images, class, fmt.Sprintf("%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	for i, view := range browsertest.Views() {
		t.Run(view.String(), func(t *testing.T) {
			p := browsertest.Open(t, at, view)
			p.Is(fmt.Sprintf(`document.getElementById("about").textContent.startsWith("%d images")`, 48+i))
			p.Fits()
			p.Picture("page at first")
			p.Drop("mine.png", read("class 08", 3))
			p.Is(`document.querySelectorAll("#list li").length === 12`)
			p.Is(`document.querySelector("#list li b").textContent === "class 08"`)
			p.Is(`document.querySelector("#list li").classList.contains("same")`)
			p.Is(`[...document.images].filter((i) => !i.hidden && !i.complete || i.naturalWidth === 0).length === 0`)
			p.Fits()
			p.Picture("page with neighbors")

			// From the start of the page on, by keyboard alone.
			p.Run(`document.activeElement.blur(); getSelection().removeAllRanges()`)
			for _, id := range []string{"file", "text", "class"} {
				p.Keys(kb.Tab)
				p.Is(onFocus(id))
			}
			p.Keys(kb.Tab)
			p.Is(onFocus("k"))
			p.Keys(kb.Tab)
			p.Is(onFocus("go"))
			p.Keys(kb.Tab)
			p.Is(`document.activeElement.className === "yes"`)
			p.Keys(" ")
			p.Is(`document.querySelector("#list .yes").getAttribute("aria-pressed") === "true"`)
			p.Keys(kb.Tab, kb.Enter)
			p.Is(`document.querySelector("#list .no").getAttribute("aria-pressed") === "true" && document.querySelector("#list .yes").getAttribute("aria-pressed") === "false"`)
			p.Picture("page marked")

			p.Focus("#class")
			p.Keys("class 09", kb.Enter)
			p.Is(`document.querySelectorAll("#list li").length === 8 && [...document.querySelectorAll("#list b")].every((b) => b.textContent === "class 09")`)
			p.Is(`document.getElementById("more").hidden`)

			path := fmt.Sprintf("grown/%d.png", i)
			if _, err := c.PutImages(t.Context(), "grown", client.Image{Path: path, File: read("class 00", i)}); err != nil {
				t.Fatal(err)
			}
			p.Is(fmt.Sprintf(`document.getElementById("about").textContent.startsWith("%d images")`, 49+i))
			p.Run(`document.getElementById("class").value = ""`)
			p.Focus("#text")
			p.Keys(path, kb.Enter)
			p.Is(`document.querySelectorAll("#list li").length === 12 && !document.getElementById("more").hidden`)
			p.Focus("#more")
			p.Keys(kb.Enter)
			p.Is(`document.querySelectorAll("#list li").length === 24`)
			p.Fits()

			p.Focus("#text")
			p.Expect("status of 415")
			p.Drop("not an image.png", []byte("dear diary"))
			p.Is(`!document.getElementById("error").hidden && document.getElementById("error").textContent.includes("not an image")`)
			p.Picture("page with an error")
		})
	}
	text, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var m page.Mark
	if err := json.Unmarshal([]byte(lines[0]), &m); err != nil || len(lines) != 8 || m.Class != "class 08" || !m.Right || m.Name != "mine.png" {
		t.Errorf("%d marks, the first %+v: %v", len(lines), m, err)
	}
	for _, view := range browsertest.Views() {
		t.Run("docs "+view.String(), func(t *testing.T) {
			p := browsertest.Open(t, at+"docs", view)
			p.Is(`document.querySelectorAll("section").length >= 9`)
			p.Fits()
			p.Picture("docs")
		})
	}
}

// The page of a model of rows: a file of a row is dropped, numbers are typed.
func TestThePageOfRowsInABrowser(t *testing.T) {
	x, table := seenByCameras(t)
	folder := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, "train", "--data", "features:"+x, "--labels", table, "--out", folder, "--dim", "2", "--epochs", "1", "--validation", "0.4",
		"--classes-per-batch", "3", "--images-per-class", "4"); code != cli.ExitDone {
		t.Fatal(errs)
	}
	at, _, end := serving(t, folder, "--split", "all")
	defer end()
	for _, view := range browsertest.Views() {
		t.Run(view.String(), func(t *testing.T) {
			p := browsertest.Open(t, at, view)
			p.Is(`document.getElementById("about").textContent.includes("rows")`)
			p.Picture("page of rows at first")
			n := p.Text("info.features")
			p.Focus("#text")
			p.Keys(p.Text(`Array.from({length: info.features}, (_, i) => i / 10).join(", ")`), kb.Enter)
			p.Is(`document.querySelectorAll("#list li").length === 12`)
			if name := p.Text(`document.getElementById("name").textContent`); name != n+" numbers" {
				t.Errorf("the query is called %q", name)
			}
			p.Fits()
			p.Picture("page of rows")
		})
	}
}

// The reports of a run and of embeddings, as files.
func TestReportsInABrowser(t *testing.T) {
	folder, _ := trained(t)
	x, table := seenByCameras(t)
	embeddings := filepath.Join(t.TempDir(), "embeddings.html")
	for name, args := range map[string][]string{
		"report":               {"report", folder},
		"report of embeddings": {"report", "--embeddings", x, "--labels", table, "--out", embeddings},
	} {
		if code, _, errs := vernier(t, args...); code != cli.ExitDone {
			t.Fatal(errs)
		}
		file := embeddings
		if name == "report" {
			file = filepath.Join(folder, "report.html")
		}
		for _, view := range browsertest.Views() {
			t.Run(name+" "+view.String(), func(t *testing.T) {
				p := browsertest.Open(t, (&url.URL{Scheme: "file", Path: file}).String(), view)
				p.Is(`document.readyState === "complete"`)
				p.Fits()
				p.Picture(name)
			})
		}
	}
}
