/* An object that the test kernel looks for when it was preloaded. */
int answer = 42;
int *pointer = &answer;
long zero[100];
int function(void) { return *pointer; }
