// The kernel that does many small operations in one launch.
#include "target.h"
#include "functions.h"
#include "tasks.h"
