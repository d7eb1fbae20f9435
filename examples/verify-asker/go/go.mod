module example.com/verify-asker

go 1.19
