import { assert, it } from "@effect/vitest"
import { browserNameOf } from "../../src/access/BrowserName.ts"

const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"
const chrome = `${webkit} Chrome/128.0.0.0`
const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
const iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
const android = "Mozilla/5.0 (Linux; Android 14; SM-S911B)"

it("names the browser and the system of a User-Agent", () => {
  for (const [userAgent, browser, system] of [
    ["Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox", "Windows"],
    ["Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox", "Linux"],
    [`${iPhone} FxiOS/128.0 Mobile/15E148 Safari/605.1.15`, "Firefox", "iOS"],
    [`${mac} ${chrome} Safari/537.36`, "Chrome", "macOS"],
    [`${iPhone} CriOS/128.0.0.0 Mobile/15E148 Safari/604.1`, "Chrome", "iOS"],
    [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${chrome} Safari/537.36`, "Chrome", "ChromeOS"],
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/128.0.0.0 Safari/537.36`, "Chrome", "Linux"],
    [`${windows} ${chrome} Safari/537.36 Edg/128.0.0.0`, "Edge", "Windows"],
    [`${android} ${chrome} Mobile Safari/537.36 EdgA/128.0.0.0`, "Edge", "Android"],
    [`${windows} ${chrome} Safari/537.36 OPR/114.0.0.0`, "Opera", "Windows"],
    [`${windows} ${chrome} Safari/537.36 Vivaldi/6.9`, "Vivaldi", "Windows"],
    [`${android} ${webkit} SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36`, "Samsung Internet", "Android"],
    [`${mac} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15`, "Safari", "macOS"],
    ["Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) Version/16.6 Mobile/15E148 Safari/604.1", "Safari", "iPadOS"],
    ["curl/8.5.0", null, null],
    ["", null, null],
    [undefined, null, null],
    [`${"x".repeat(100_000)} Firefox/1.0 (Windows)`, null, null]
  ] as const)
    assert.deepStrictEqual(browserNameOf(userAgent), { browser, system }, userAgent?.slice(0, 200))
})
