"""Pictures, one small file each."""
