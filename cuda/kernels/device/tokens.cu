// Kernels of tokens of transformers, one for each way to store a map.
#include "target.h"
#include "functions.h"
#define KERNELS "tokens.h"
#include "typed.h"
