module example.com/execution-zone

go 1.19
