#!/usr/bin/env node
import { refusalOfSecondStart } from "./SecondStart.ts"

const refusal = refusalOfSecondStart(process.argv, process.env)
if (refusal === undefined) await import("./cli/Main.ts")
else {
  console.error(refusal)
  process.exitCode = 1
}
