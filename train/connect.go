package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
)

// How gradients are summed over ranks, for Connect.
const (
	CollectivesAuto = "auto" // NCCL where every rank has a GPU of its own with NCCL, else the host
	CollectivesHost = "host" // by way of the host and the Comm
	CollectivesNCCL = "nccl" // on the GPUs
)

// Collectives lists the ways that Connect takes.
func Collectives() []string { return []string{CollectivesAuto, CollectivesHost, CollectivesNCCL} }

// Connect lets the devices of all ranks sum gradients among themselves (engine.Collective),
// each on its own, before a Session trains with the engine. by is one of Collectives. Connect
// returns what was chosen, CollectivesHost or CollectivesNCCL, and where auto chose the host
// although ranks compute on GPUs, why. A device waits for the others for patience at the
// longest, 0 for no limit. Every rank calls Connect; all get the same.
func Connect(c comm.Comm, eng engine.Engine, by string, patience time.Duration) (chosen, why string, err error) {
	if c.Size() == 1 || by == CollectivesHost {
		return CollectivesHost, "", nil
	}
	device, _ := eng.(engine.Collective)
	all, err := places(c, device)
	if err != nil {
		return "", "", err
	}
	if trouble := unreachable(all); trouble != nil {
		if by == CollectivesNCCL {
			return "", "", trouble
		}
		if device == nil { // the CPU, of which nobody expects it
			return CollectivesHost, "", nil
		}
		return CollectivesHost, trouble.Error(), nil
	}
	invitation, err := comm.FromLead(c, device.Invitation)
	if err != nil {
		return "", "", err
	}
	if err := device.Join(invitation, c.Rank(), c.Size(), patience); err != nil {
		return "", "", err
	}
	return CollectivesNCCL, "", c.Barrier()
}

// place is where the device of a rank is.
type place struct{ Host, Device, Trouble string }

// places gathers those of all ranks. device is nil for an engine that has none.
func places(c comm.Comm, device engine.Collective) ([]place, error) {
	var own place
	var err error
	if own.Host, err = os.Hostname(); err != nil {
		return nil, err
	}
	if device == nil {
		own.Trouble = "it does not compute on a GPU, which NCCL needs: the collectives auto and host take MPI"
	} else if own.Device, err = device.Place(); err != nil {
		own.Trouble = err.Error()
	}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	texts, err := c.Gather(text)
	if err != nil {
		return nil, err
	}
	all := make([]place, len(texts))
	for rank, text := range texts {
		if err := json.Unmarshal(text, &all[rank]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unreachable is why devices cannot join each other, as an error of the first rank at fault;
// nil if they can. Two ranks on one device would wait for each other without end.
func unreachable(all []place) error {
	taken := map[place]int{}
	for rank, p := range all {
		err := error(nil)
		if p.Trouble != "" {
			err = errors.New(p.Trouble)
		} else if other, is := taken[p]; is {
			err = fmt.Errorf("it has the GPU of rank %d, %s: NCCL needs one for each rank", other, p.Device)
		}
		if err != nil {
			return &comm.RankError{Rank: rank, Host: p.Host, Err: err}
		}
		taken[p] = rank
	}
	return nil
}
