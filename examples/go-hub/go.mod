module kelp.example/desk

go 1.19
