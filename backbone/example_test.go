package backbone_test

import (
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
)

// A trunk may end early, and be fed other pixels than those of the publisher's
// own preprocessing.
func ExampleNew() {
	net, err := backbone.New("inceptionv3:trunk-end=Mixed_7a,pixels=unit")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := net.Preprocessing()
	fmt.Println(net.Channels(), "features; images of", p.Size, "pixels, divided by", p.Range)
	_, err = backbone.New("resnet50:trunk-end=layer9")
	fmt.Println(err != nil)
	// Output:
	// 1280 features; images of 299 pixels, divided by 255
	// true
}
