// A case file for the tests of cufault_case().
