import { type ChildProcess, spawn } from "node:child_process"
import type { LoadOrder, LoadResult } from "./loadProcess.ts"
import { root, script } from "./Processes.ts"

/** The load in a process of its own, so that what it costs is the same for everyone and nobody waits for the report. */
export class Load {
  private readonly child: ChildProcess

  constructor() {
    this.child = spawn(process.execPath, script("harness/loadProcess.ts"), {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit", "ipc"]
    })
  }

  /** Sends every target once, over connections that each take the next one as soon as they are free. */
  run(order: LoadOrder): Promise<LoadResult> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`The load ended with ${code}.`))
      this.child.once("exit", onExit)
      this.child.once("message", (message: LoadResult | { readonly error: string }) => {
        this.child.off("exit", onExit)
        if ("error" in message) reject(new Error(message.error))
        else resolve(message)
      })
      this.child.send(order)
    })
  }

  stop(): void {
    this.child.disconnect()
  }
}
