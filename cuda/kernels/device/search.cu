// Kernels of searches.
#include "target.h"
#include "functions.h"
#include "wide.h"
#include "search.h"
