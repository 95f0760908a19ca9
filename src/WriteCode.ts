import { readdirSync } from "node:fs"
import { join } from "node:path"
import { loadChunk, writeCode } from "./Chunks.ts"

// Run by the build as `node FLAGS dist/WriteCode.js --version`, once for each set of flags that V8 runs the service with.
process.once("exit", writeCode)

// The page of the API is one long text, which needs no code.
for (const name of readdirSync(join(import.meta.dirname, "chunks")))
  if (name.endsWith(".cjs") && !name.startsWith("DocumentationPage")) loadChunk(name)
