/** The directions of the arrows in docs/architecture.md. */
const room = (name) => `^src/${name}/`

/** A room, and the rooms it may import from beside itself. */
const arrows = {
  domain: [],
  database: ["domain"],
  repos: ["domain", "database"],
  platform: ["domain", "database"],
  services: ["domain", "database", "repos", "platform", "demo"],
  demo: ["domain"],
  api: ["domain"],
  http: ["domain", "database", "api", "services"],
  mcp: ["domain", "api", "http", "services"],
  console: ["domain", "api", "http", "services"],
  oauth: ["domain", "api", "http", "services", "console"],
  admin: ["domain", "database", "services"],
  cli: ["domain", "database", "services", "http", "console", "admin"],
  testing: ["domain", "repos", "platform", "services", "http"]
}

/** Every room may ask where the package lies. */
const everywhere = ["^src/PackageRoot\\.ts$"]

/** Rooms that may import the places where layers meet: App.ts and AppConfig.ts. */
const assembling = ["cli", "testing"]

module.exports = {
  forbidden: [
    {
      name: "no-circles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } }
    },
    { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "domain-imports-only-effect",
      severity: "error",
      from: { path: room("domain") },
      to: { pathNot: [room("domain"), "^node_modules/effect/"] }
    },
    ...Object.entries(arrows).map(([from, to]) => ({
      name: `arrows-of-${from}`,
      severity: "error",
      from: { path: room(from) },
      to: {
        path: "^src/",
        pathNot: [
          room(from),
          ...everywhere,
          ...to.map(room),
          ...(assembling.includes(from) ? ["^src/App(Config)?\\.ts$"] : [])
        ]
      }
    })),
    {
      name: "commands-speak-admin",
      severity: "error",
      from: { path: room("cli"), pathNot: "^src/cli/(Serve|Migrate)Command\\.ts$" },
      to: { path: [room("database"), room("services"), room("http")] }
    },
    {
      name: "services-know-no-http",
      severity: "error",
      from: { path: [room("services"), room("repos")] },
      to: { path: "node_modules/@effect/platform" }
    },
    { name: "src-imports-no-tests", severity: "error", from: { path: "^src/" }, to: { path: "^test/" } },
    {
      name: "no-development-packages",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev"] }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] }
  }
}
