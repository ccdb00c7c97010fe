package backbone

// Unregister takes back what Register did.
func Unregister(name string) { registered.Remove(name) }

// ResNetOf returns a residual network of given depths.
func ResNetOf(depths [4]int, bottleneck bool) (Backbone, error) {
	return resNet{depths: depths, bottleneck: bottleneck}.new(options{})
}
