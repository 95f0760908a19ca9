import { readdirSync } from "node:fs"
import { join } from "node:path"
import { loadChunk, writeCode } from "./Chunks.ts"

// Loads the chunks and, at the exit, writes V8's code cache for them. The cache is valid only with the V8 flags that wrote it, so the
// build runs `node FLAGS dist/WriteCode.js --version` once for each set of flags that the service is run with.
process.once("exit", writeCode)

// The chunk with the API documentation page is one long text, so it does not need a code cache.
for (const name of readdirSync(join(import.meta.dirname, "chunks")))
  if (name.endsWith(".cjs") && !name.startsWith("DocumentationPage")) loadChunk(name)
