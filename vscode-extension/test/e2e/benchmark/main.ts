// What benchmarks/editor.py asks the editor: node main.ts ROUNDS; the answer is JSON.
import install from "../harness/install.ts";
import { measureActs } from "./acting.ts";
import { measureStarts } from "./starting.ts";

const rounds = Number(process.argv[2] ?? "5");
install();
const acts = await measureActs(rounds);
const starts = await measureStarts(rounds);
process.stdout.write(JSON.stringify({ ...acts, ...starts }));
