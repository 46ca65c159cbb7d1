"""How good a learnt field is: likelihoods of held-out rows, and recovery of known edges."""
