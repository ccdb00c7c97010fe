package train

import "testing"

// Several crops are for validation and the end, and change nothing of training but where
// rows of classes start, the means of embeddings.
func TestARunThatIsMeasuredOnCropsGoesOnAsIfItHadNeverStopped(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 4))
	c.Data.Validation, c.Model.Input.Resize, c.Model.Input.Crops = 0.4, 20, 10
	c.Loss.Start = "random"
	straight, resumed := resumedInTheMiddle(t, "crops", c)
	c.Model.Input.Crops = 0
	single := begin(t, c)
	trainAll(t, single)
	for i, e := range straight.state.History {
		if e.Recall1 != resumed.state.History[i].Recall1 || e.MAPAtR != resumed.state.History[i].MAPAtR {
			t.Errorf("epoch %d: %+v, resumed %+v", i+1, e, resumed.state.History[i])
		}
		if e.Loss != single.state.History[i].Loss {
			t.Errorf("epoch %d: the loss is %v, %v on one crop", i+1, e.Loss, single.state.History[i].Loss)
		}
	}
	if straight.model.Spec.Input.Crops != 10 {
		t.Errorf("the model looks at %d crops", straight.model.Spec.Input.Crops)
	}
}
