import { type ChildProcess, spawn } from "node:child_process"
import type { LoadOrder, LoadResult } from "./loadProcess.ts"
import { root, script } from "./Processes.ts"

/** The load runs in a process of its own, so that it costs all contenders the same. */
export class Load {
  private readonly child: ChildProcess

  constructor() {
    this.child = spawn(process.execPath, script("harness/loadProcess.ts"), {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit", "ipc"]
    })
  }

  /** Sends every target once. Each connection takes the next target as soon as it is free. */
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
