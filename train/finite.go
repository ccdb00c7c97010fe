package train

func isFinite(x float64) bool { return x-x == 0 }
