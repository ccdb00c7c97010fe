package weights

import (
	"fmt"
	"strconv"
	"strings"
)

// IsGoogleViT reports whether a file has the names of a vision transformer by
// Google's vision_transformer repository (Flax), which publishes it as .npz.
func IsGoogleViT(f *File) bool {
	_, ok := googleViTRoot(f)
	return ok
}

// googleViTRoot returns what stands before the names: nothing, or "opt/target/"
// in files that also hold the optimizer.
func googleViTRoot(f *File) (string, bool) {
	for _, root := range []string{"", "opt/target/"} {
		if _, ok := f.index[root+"Transformer/encoder_norm/scale"]; ok {
			return root, true
		}
	}
	return "", false
}

// GoogleViT presents such a file under the names and with the layouts of timm's
// VisionTransformer: kernels (in,out) become weights (out,in), the patch
// embedding goes from HWIO to OIHW, and query, key and value are joined. Nothing
// is read or copied until a tensor is asked for. Closing f closes the result.
//
// The position embedding keeps the grid it was trained with.
func GoogleViT(f *File) (*File, error) {
	root, ok := googleViTRoot(f)
	if !ok {
		return nil, fmt.Errorf("weights: %s is not a vision transformer by Google: it has no Transformer/encoder_norm/scale", f.path)
	}
	c := &vitConverter{from: f, root: root, used: map[string]bool{}}
	c.convert()
	if c.err != nil {
		return nil, fmt.Errorf("weights: %s as a vision transformer: %w", f.path, c.err)
	}
	for _, name := range f.Names() {
		if rest, ok := strings.CutPrefix(name, root); ok && !c.used[rest] {
			return nil, fmt.Errorf("weights: %s as a vision transformer: no place for %q (hybrids with a convolutional stem are not converted)", f.path, name)
		}
	}
	out := &File{path: f.path, size: f.size, format: f.format, tensors: c.out,
		index: map[string]int32{}, meta: f.meta, values: f.values}
	for i := range c.out {
		out.index[c.out[i].Name] = int32(i)
	}
	return out, nil
}

// vitConverter keeps the first error, so that the table of names reads as one.
type vitConverter struct {
	from *File
	root string
	used map[string]bool
	out  []Tensor
	err  error
}

func (c *vitConverter) convert() {
	c.take("cls_token", 3, "cls")
	c.take("pos_embed", 3, "Transformer/posembed_input/pos_embedding")
	c.take("patch_embed.proj.weight", 4, "embedding/kernel", 3, 2, 0, 1) // HWIO -> OIHW
	c.take("patch_embed.proj.bias", 1, "embedding/bias")
	for i := 0; c.has(block(i) + "LayerNorm_0/scale"); i++ {
		c.block("blocks."+strconv.Itoa(i)+".", block(i))
	}
	c.norm("norm", "Transformer/encoder_norm")
	if c.has("pre_logits/kernel") {
		c.dense("pre_logits.fc", "pre_logits")
	}
	if c.has("head/kernel") {
		c.dense("head", "head")
	}
}

func block(i int) string { return "Transformer/encoderblock_" + strconv.Itoa(i) + "/" }

func (c *vitConverter) block(to, from string) {
	att := from + "MultiHeadDotProductAttention_1/"
	c.norm(to+"norm1", from+"LayerNorm_0")
	c.qkv(to+"attn.qkv.", att)
	// (heads, head size, out) -> (out, heads*head size)
	c.take(to+"attn.proj.weight", 3, att+"out/kernel", 2, 0, 1)
	c.flatten(1)
	c.take(to+"attn.proj.bias", 1, att+"out/bias")
	c.norm(to+"norm2", from+"LayerNorm_2")
	c.dense(to+"mlp.fc1", from+"MlpBlock_3/Dense_0")
	c.dense(to+"mlp.fc2", from+"MlpBlock_3/Dense_1")
}

func (c *vitConverter) norm(to, from string) {
	c.take(to+".weight", 1, from+"/scale")
	c.take(to+".bias", 1, from+"/bias")
}

func (c *vitConverter) dense(to, from string) {
	c.take(to+".weight", 2, from+"/kernel", 1, 0)
	c.take(to+".bias", 1, from+"/bias")
}

// qkv joins the three projections, each (in, heads, head size) with bias (heads,
// head size), into (3*heads*head size, in) and (3*heads*head size).
func (c *vitConverter) qkv(to, att string) {
	parts := []string{"query", "key", "value"}
	for _, p := range parts {
		c.take(to+"weight", 3, att+p+"/kernel", 1, 2, 0)
		c.flatten(0)
	}
	c.join(len(parts))
	for _, p := range parts {
		c.take(to+"bias", 2, att+p+"/bias", 0, 1)
		c.flatten(0)
	}
	c.join(len(parts))
}

func (c *vitConverter) has(name string) bool {
	_, ok := c.from.index[c.root+name]
	return ok
}

// take appends a tensor of the file under a new name, with its dimensions in the
// given order.
func (c *vitConverter) take(to string, rank int, name string, order ...int) {
	if c.err != nil {
		return
	}
	t, err := c.from.Tensor(c.root + name)
	if err != nil {
		c.err = err
		return
	}
	if len(t.Shape) != rank {
		c.err = fmt.Errorf("%q has shape %v, %d dimensions are expected", c.root+name, t.Shape, rank)
		return
	}
	c.used[name] = true
	n := Tensor{Name: to, DType: t.DType, Shape: t.Shape, data: t.data}
	if order != nil {
		n.data, n.Shape = t.data.permuted(t.Shape, order...)
	}
	c.out = append(c.out, n)
}

// flatten merges dimensions i and i+1 of the last tensor. Its elements keep
// their order, so that only the shape changes.
func (c *vitConverter) flatten(i int) {
	if c.err != nil {
		return
	}
	t := &c.out[len(c.out)-1]
	shape := append([]int(nil), t.Shape[:i]...)
	shape = append(shape, t.Shape[i]*t.Shape[i+1])
	t.Shape = append(shape, t.Shape[i+2:]...)
}

// join concatenates the last n tensors along the first dimension.
func (c *vitConverter) join(n int) {
	if c.err != nil {
		return
	}
	ts := c.out[len(c.out)-n:]
	all := ts[0]
	all.Shape = append([]int(nil), all.Shape...)
	more := make([]view, 0, n-1)
	for _, t := range ts[1:] {
		if t.DType != all.DType || len(t.Shape) != len(all.Shape) || (len(t.Shape) > 1 && t.Shape[1] != all.Shape[1]) {
			c.err = fmt.Errorf("query, key and value of %q have different types or widths", t.Name)
			return
		}
		all.Shape[0] += t.Shape[0]
		more = append(more, t.data)
	}
	all.more = &more
	c.out = append(c.out[:len(c.out)-n], all)
}
