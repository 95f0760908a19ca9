/** The directions of the imports: docs/architecture.md has the picture that is generated from them. */
const folder = (name) => `^src/${name}/`

/** The core, lowest first: a folder imports only from folders before it. */
const core = [
  "model",
  "telemetry",
  "runtime",
  "database",
  "catalog",
  "drafts",
  "feed",
  "events",
  "jobs",
  "platform",
  "stores",
  "bulk",
  "health",
  "publishing",
  "budgets",
  "access",
  "storedata",
  "drops",
  "connections",
  "webhooks",
  "imports",
  "exports",
  "demo",
  "programs"
]

/** The surfaces and what each imports beside itself and the core folders that it names. */
const surfaces = {
  api: core.filter((name) => name !== "database"),
  http: [...core, "api"],
  mcp: [...core, "api", "http"],
  console: [...core, "api", "http"],
  oauth: [...core, "api", "http", "console"],
  admin: core,
  cli: [...core, "http", "console", "admin"],
  client: ["api", ...core],
  testing: [...core, "http"]
}

const arrows = { ...Object.fromEntries(core.map((name, place) => [name, core.slice(0, place)])), ...surfaces }

/** Every folder may import the package's own directory. */
const everywhere = ["^src/PackageRoot\\.ts$"]

/** Folders that may import the places where layers are assembled. */
const assembling = ["cli", "testing"]

/** The modules of the pages that browsers run. The server runs the islands too. */
const browserCode = ["^src/console/(assets|islands)/", "^src/console/languages/(Language|MakeWords)\\.tsx?$"]

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
      name: "model-imports-only-effect-and-re2js",
      severity: "error",
      from: { path: folder("model") },
      to: { pathNot: [folder("model"), "^node_modules/(effect|re2js)/"] }
    },
    ...Object.entries(arrows).map(([from, to]) => ({
      name: `arrows-of-${from}`,
      severity: "error",
      from: { path: folder(from) },
      to: {
        path: "^src/",
        pathNot: [
          folder(from),
          ...everywhere,
          ...to.map(folder),
          ...(assembling.includes(from) ? ["^src/(App|AppConfig|Services)\\.ts$"] : [])
        ]
      }
    })),
    {
      name: "only-demo-and-the-layers-import-the-demo",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/demo/", "^src/(App|Services)\\.ts$", "^src/(admin|cli|testing)/"] },
      to: { path: folder("demo") }
    },
    {
      name: "adapters-only-by-the-table",
      severity: "error",
      from: {
        path: "^src/",
        // The demo account fills and breaks the shops of its own platform.
        pathNot: [
          "^src/platform/[^/]+/",
          "^src/platform/Platforms\\.ts$",
          "^src/demo/",
          "^src/Services\\.ts$",
          "^src/testing/"
        ]
      },
      to: { path: "^src/platform/[^/]+/" }
    },
    {
      name: "adapters-do-not-import-each-other",
      severity: "error",
      from: { path: "^src/platform/([^/]+)/" },
      to: { path: "^src/platform/[^/]+/", pathNot: "^src/platform/$1/" }
    },
    {
      name: "only-the-layers-import-the-table-of-adapters",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/Services\\.ts$", "^src/testing/"] },
      to: { path: "^src/platform/Platforms\\.ts$" }
    },
    {
      name: "sql-in-repositories-only",
      severity: "error",
      from: {
        path: core.map(folder),
        pathNot: ["^src/database/", "(Repo|Writes|Scans|\\.sql)\\.ts$", "^src/platform/demo/DemoShops\\.ts$"]
      },
      to: { path: "node_modules/@effect/sql" }
    },
    {
      name: "memory-for-tests-only",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/testing/", "\\.memory\\.ts$"] },
      to: { path: "\\.memory\\.ts$" }
    },
    {
      name: "commands-speak-admin",
      severity: "error",
      from: { path: folder("cli"), pathNot: "^src/cli/(Serve|MigrateCommand|StatusCommand)\\.ts$" },
      to: { path: [folder("database"), folder("http"), "Repo\\.ts$"] }
    },
    {
      name: "core-knows-no-http",
      severity: "error",
      from: { path: core.map(folder), pathNot: ["^src/(database|platform|demo|telemetry)/"] },
      to: { path: "node_modules/@effect/platform" }
    },
    {
      name: "browsers-run-no-server-code",
      severity: "error",
      from: { path: browserCode },
      to: {
        pathNot: [...browserCode, "^node_modules/(preact|intl-messageformat|squire-rte|dompurify)/"],
        dependencyTypesNot: ["type-only"]
      }
    },
    { name: "src-imports-no-tests", severity: "error", from: { path: "^src/" }, to: { path: "^test/" } },
    {
      name: "no-development-packages",
      severity: "error",
      from: { path: "^src/" },
      // dist/ contains it. As a dependency it would install 34 MB of OpenTelemetry's SDK, its peers, which nothing loads.
      to: { dependencyTypes: ["npm-dev"], pathNot: "node_modules/@effect/opentelemetry/" }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] }
  }
}
