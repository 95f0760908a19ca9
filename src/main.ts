#!/usr/bin/env node
import { loadChunk } from "./Chunks.ts"
import { refusalOfSecondStart } from "./SecondStart.ts"

const refusal = refusalOfSecondStart(process.argv, process.env)
if (refusal === undefined) loadChunk("Main.cjs")
else {
  console.error(refusal)
  process.exitCode = 1
}
