// Makes pictures of the pages of a fresh demo: light, dark and on a phone. `npm run screenshots [FOLDER]`; needs Chromium.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"

const folder = process.argv[2] ?? ".tmp/screenshots"
const port = process.env.PORT ?? "4189"
const base = `http://127.0.0.1:${port}`

const pages = {
  home: "/",
  products: "/products",
  "products-failed": "/products?state=failed",
  variants: "/variants",
  collections: "/collections",
  media: "/media",
  "new-product": "/products/new",
  imports: "/imports",
  "data-health": "/data-health",
  drops: "/drops",
  "drops-new": "/drops/new",
  jobs: "/jobs",
  stores: "/stores",
  team: "/settings/team",
  profile: "/settings/profile",
  agents: "/settings/connections",
  "api-keys": "/settings/keys",
  webhooks: "/settings/webhooks",
  "forgot-password": "/forgot-password",
  "not-found": "/nowhere"
}

const looks = [
  { name: "light", width: 1_440, colorScheme: "light" },
  { name: "dark", width: 1_440, colorScheme: "dark" },
  { name: "phone", width: 390, colorScheme: "light" }
]

const data = mkdtempSync(join(tmpdir(), "catalog-screenshots-"))
const service = spawn(process.execPath, ["dist/main.js", "serve"], {
  env: { ...process.env, DATA_DIR: join(data, "data"), PORT: port, HOST: "127.0.0.1" },
  stdio: ["ignore", "pipe", "inherit"]
})
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
})

/** The link that sets the first user's password, from the folder of the data. */
const firstLink = async () => {
  for (let tries = 0; tries < 600; tries++) {
    const text = await readFile(join(data, "data", "first-start.txt"), "utf8").catch(() => "")
    const link = /http\S+set-password\S+/.exec(text)?.[0]
    if (link !== undefined && (await fetch(`${base}/healthz`).catch(() => undefined))?.ok) return link
    // The file appears, and the port answers, some seconds after the start.
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error("the service did not start within two minutes")
}

try {
  mkdirSync(folder, { recursive: true })
  const first = await browser.newContext()
  const signIn = await first.newPage()
  await signIn.goto(await firstLink())
  await signIn.getByLabel("New password").fill("a few unrelated words")
  await signIn.getByRole("button", { name: "Set password and sign in" }).click()
  const storageState = await first.storageState()
  for (const { colorScheme, name: look, width } of looks) {
    const context = await browser.newContext({ storageState, colorScheme, viewport: { width, height: 900 } })
    const page = await context.newPage()
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(base + path, { waitUntil: "networkidle" })
      await page.screenshot({ path: join(folder, `${name}-${look}.png`) })
      console.log(join(folder, `${name}-${look}.png`))
    }
    await context.close()
  }
} finally {
  await browser.close()
  service.kill()
  await once(service, "exit")
  rmSync(data, { recursive: true, force: true })
}
