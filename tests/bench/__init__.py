"""What git session costs, as ratios against something on the same machine in the same run."""
