"""What the end-to-end tests share. A test program imports these modules, and never another test program.

program       the executable under test, and the entry point of a program
waiting       polls until a condition holds
client        requests to a server of etna
server        a server process
homes         home folders
cases         test cases with a server or a home
chats         `etna chat` in terminals and through pipes
terminal      a terminal with a screen
processes     CPU time and memory of a process
stand_in_hub  a model hub with faults
forward_proxy an HTTP proxy
gguf_files    model files with changed metadata
random_schemas  JSON Schemas by seed
"""
