package engine

// Kinds of engines.
const (
	CPU  = "cpu"
	CUDA = "cuda"
)

// Informer says what computes.
type Informer interface{ Info() Info }

// EngineInfo is what the numbers of a result depend on in an engine: how many threads
// it has and which of several GPUs of one model it is changes none.
type Info struct {
	Kind          string `json:"kind"`      // CPU or CUDA
	Device        string `json:"device"`    // kernels of the CPU, or model of the GPU
	Precision     string `json:"precision"` // of products, and of maps on a GPU: fp32, tf32 or bf16
	Deterministic bool   `json:"deterministic"`
}

// String is "cpu avx512", "cpu avx512, bf16" or "cuda NVIDIA H100 80GB HBM3, bf16, deterministic".
func (i Info) String() string {
	s := i.Kind + " " + i.Device
	if i.Kind == CPU { // deterministic always, and float32 as a rule
		if i.Precision == "bf16" {
			s += ", bf16"
		}
		return s
	}
	s += ", " + i.Precision
	if i.Deterministic {
		s += ", deterministic"
	}
	return s
}
