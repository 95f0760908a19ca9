import { hash } from "node:crypto"
import { HttpApiScalar, HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../api/RestApi.ts"

/** Colours of the pages for merchants, for light and dark pages. They are those of `console/assets/tokens.css`. */
export const colors = {
  ground: "light-dark(#f6f6f4, #131416)",
  surface: "light-dark(#ffffff, #1b1d20)",
  sunken: "light-dark(#f0f0ed, #16181a)",
  line: "light-dark(#e3e2de, #2c2f33)",
  ink: "light-dark(#1d1e20, #ececea)",
  muted: "light-dark(#5e6065, #a2a5aa)",
  faint: "light-dark(#66686e, #989ba1)",
  accent: "light-dark(#2f5bd7, #8aa8ff)",
  "accent-soft": "light-dark(#e9eefc, #22304f)",
  good: "light-dark(#1b7a43, #5cc98a)",
  warn: "light-dark(#8a5a00, #e0b050)",
  bad: "light-dark(#b42318, #ff8a80)",
  own: "light-dark(#6a3fc9, #b79cff)"
}

/** Scalar's names of the colours. */
const scalarColors: Readonly<Record<string, keyof typeof colors>> = {
  "background-1": "surface",
  "background-2": "ground",
  "background-3": "sunken",
  "background-accent": "accent-soft",
  "border-color": "line",
  "color-1": "ink",
  "color-2": "muted",
  "color-3": "faint",
  "color-accent": "accent",
  "color-blue": "accent",
  "color-green": "good",
  "color-orange": "warn",
  "color-purple": "own",
  "color-red": "bad",
  "color-yellow": "warn",
  "sidebar-background-1": "sunken",
  "sidebar-border-color": "line",
  "sidebar-color-1": "ink",
  "sidebar-color-2": "muted",
  "sidebar-color-active": "accent",
  "sidebar-item-active-background": "surface",
  "sidebar-item-hover-background": "surface",
  "sidebar-search-background": "surface",
  "sidebar-search-border-color": "line",
  "sidebar-search-color": "muted"
}

/** Scalar adds it after its own styles. */
const customCss = `
.light-mode, .dark-mode, .light-mode .sidebar, .dark-mode .sidebar {
${Object.entries(scalarColors)
  .map(([name, color]) => `  --scalar-${name}: ${colors[color]};`)
  .join("\n")}
}`

const frameStyle = `
:root { color-scheme: light dark; --scalar-custom-header-height: 3.25rem; }
.light-mode { color-scheme: light; }
.dark-mode { color-scheme: dark; }
body { margin: 0; background: ${colors.surface}; }
header.frame {
  position: sticky; top: 0; z-index: 10; display: flex; align-items: center; gap: 1.5rem; height: 3.25rem; box-sizing: border-box;
  padding: 0 1.5rem; font: 600 0.875rem ui-sans-serif, system-ui, sans-serif; color: ${colors.ink}; background: ${colors.sunken};
  border-bottom: 1px solid ${colors.line};
}
header.frame a { color: ${colors.accent}; }`

const header = `<header class="frame"><span>Catalog API</span><a href="/">To the pages</a></header>`

/** Options of Scalar's page. They turn off all requests to its vendor (fonts, telemetry, sharing). */
const scalar = {
  theme: "none",
  customCss,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showToolbar: "never",
  defaultOpenAllTags: true
} as const

const scripts = /<script>([\s\S]*?)<\/script>/g

/** The page's Content-Security-Policy: only its own scripts run, and they can send requests to this service only. */
const policyOf = (html: string) => {
  const own = [...html.matchAll(scripts)].map(([, script = ""]) => `'sha256-${hash("sha256", script, "base64")}'`)
  return [
    "default-src 'none'",
    // The page's script compiles validators of the document's schemas with `eval`.
    `script-src ${own.join(" ")} 'unsafe-eval'`,
    // The page's script adds style elements.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

/** The page that shows the OpenAPI document. The page contains the document and the script (3.5 MB). */
export const documentationPage = Effect.scoped(
  Effect.gen(function* () {
    const path = "/"
    const page = yield* HttpLayerRouter.toHttpEffect(HttpApiScalar.layerHttpLayerRouter({ api: RestApi, path, scalar }))
    const request = HttpServerRequest.fromWeb(new Request(new URL(path, "http://localhost")))
    const rendered = yield* Effect.provideService(page, HttpServerRequest.HttpServerRequest, request)
    const text = yield* Effect.promise(() => HttpServerResponse.toWeb(rendered).text())
    const html = text
      .replace("<html>", '<html lang="en">')
      .replace("<head>", `<head><style>${frameStyle}</style>`)
      .replace("<body>", `<body>${header}`)
    return HttpServerResponse.text(html, {
      contentType: "text/html; charset=utf-8",
      headers: { "content-security-policy": policyOf(html) }
    })
  })
).pipe(Effect.orDie)
