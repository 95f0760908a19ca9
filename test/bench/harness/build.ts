import build from "../../support/Build.ts"

await build()
