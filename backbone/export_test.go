package backbone

// Unregister takes back what Register did.
func Unregister(name string) { registered.Remove(name) }
