/** The browser and the operating system of a session. Null: not recognised. */
export interface BrowserName {
  readonly browser: string | null
  readonly system: string | null
}

/** A longer header is cut: every known name is near its begin. */
const maxRead = 512

/** Browsers that name others as well come first: Edge also says Chrome, and Chrome also says Safari. */
const browsers = {
  Edge: /\bEdg(?:e|A|iOS)?\//,
  Opera: /\bOP(?:R|T|iOS)\//,
  Vivaldi: /\bVivaldi\//,
  "Samsung Internet": /\bSamsungBrowser\//,
  Firefox: /\b(?:Firefox|FxiOS)\//,
  Chrome: /\b(?:Chrome|Chromium|HeadlessChrome|CriOS)\//,
  Safari: /\bSafari\//
}

/** Systems that name others as well come first: Android also says Linux, and an iPhone also says Mac OS X. */
const systems = {
  Windows: /\bWindows\b/,
  Android: /\bAndroid\b/,
  iOS: /\b(?:iPhone|iPod)\b/,
  iPadOS: /\biPad\b/,
  ChromeOS: /\bCrOS\b/,
  macOS: /\b(?:Macintosh|Mac OS X)\b/,
  Linux: /\b(?:Linux|X11)\b/
}

const nameIn = (names: Readonly<Record<string, RegExp>>, text: string) =>
  Object.keys(names).find((name) => names[name]?.test(text)) ?? null

/** The browser and the operating system that the header User-Agent names. */
export const browserNameOf = (userAgent: string | undefined): BrowserName => {
  const text = userAgent?.slice(0, maxRead) ?? ""
  return { browser: nameIn(browsers, text), system: nameIn(systems, text) }
}
