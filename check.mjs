// Runs the checks side by side: types, lint, the directions of imports and the sizes of functions and files. Prints the output of each as a whole when it ends.
import { spawn } from "node:child_process"
import { once } from "node:events"

const run = async (part) => {
  const child = spawn("npm", ["run", "--silent", part], { stdio: ["ignore", "pipe", "pipe"] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk))
  const [code] = await once(child, "close")
  console.log(`> ${part}: ${code === 0 ? "passed" : "FAILED"}\n${Buffer.concat(output)}`)
  return code === 0
}

const passed = await Promise.all(["check:types", "check:lint", "check:arrows", "check:sizes"].map(run))
process.exit(passed.every(Boolean) ? 0 : 1)
