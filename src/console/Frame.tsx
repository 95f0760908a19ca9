import type { ComponentChildren, VNode } from "preact"
import { useContext } from "preact/hooks"
import { assetPaths } from "./Assets.ts"
import type { Visitor } from "./Browser.ts"
import { fieldNames } from "./Fields.ts"
import { Icon, type IconName, Mark } from "./Icon.tsx"
import { directionIn } from "./languages/Language.ts"
import type { Saying, Sentence } from "./languages/Words.tsx"
import { importTitle } from "./Naming.tsx"
import { commands, pageOf, paths, type Section, sections, settings } from "./Paths.ts"
import type { Theme } from "./Theme.ts"
import { timeIn } from "./Times.ts"
import { Allowed, useWords, Viewer } from "./Viewer.tsx"

/** The CSRF token, which every form with an effect needs, and the id of the record that the form changes or creates. */
export const HiddenFields = ({ csrf, id }: { readonly csrf: string; readonly id?: string | undefined }) => (
  <>
    <input type="hidden" name={fieldNames.csrf} value={csrf} />
    {id !== undefined && <input type="hidden" name="id" value={id} />}
  </>
)

/** Other form fields that are not shown. Those without a value are left out. */
export const Hidden = ({ of }: { readonly of: Iterable<readonly [name: string, value: string | undefined]> }) => (
  <>
    {Array.from(of, ([name, value]) =>
      value === undefined ? null : <input key={name} type="hidden" name={name} value={value} />
    )}
  </>
)

const SignOut = ({ visitor, returnTo }: { readonly visitor: Visitor; readonly returnTo: string }) => {
  const t = useWords()
  return (
    <form method="post" action={paths.signOut}>
      <HiddenFields csrf={visitor.csrf} />
      <input type="hidden" name={fieldNames.returnTo} value={returnTo} />
      <button type="submit" class="plain">
        {t("Sign out")}
      </button>
    </form>
  )
}

const themes: ReadonlyArray<{ readonly theme: Theme; readonly name: Sentence; readonly icon: IconName }> = [
  { theme: "system", name: "Colours of the system", icon: "monitor" },
  { theme: "light", name: "Light colours", icon: "sun" },
  { theme: "dark", name: "Dark colours", icon: "moon" }
]

const ThemeSwitch = ({ visitor }: { readonly visitor: Visitor }) => {
  const t = useWords()
  return (
    <form method="post" action={paths.theme} class="themes">
      <HiddenFields csrf={visitor.csrf} />
      {themes.map(({ icon, name, theme }) => (
        <button
          type="submit"
          key={theme}
          name="theme"
          value={theme}
          aria-label={t(name)}
          title={t(name)}
          aria-pressed={visitor.theme === theme ? "true" : "false"}
        >
          <Icon name={icon} />
        </button>
      ))}
    </form>
  )
}

const Links = ({ current, of }: { readonly of: ReadonlyArray<Section>; readonly current: string | undefined }) => {
  const t = useWords()
  return (
    <ul>
      {of.map(({ icon, name, needs = "view", path }) => (
        <Allowed to={needs} key={path}>
          <li>
            <a href={path} {...(path === current ? { "aria-current": "page" as const } : {})}>
              <Icon name={icon} />
              {t(name)}
            </a>
          </li>
        </Allowed>
      ))}
    </ul>
  )
}

const Who = ({ children, visitor }: { readonly visitor: Visitor; readonly children: ComponentChildren }) => (
  <div class="me">
    <p>
      <bdi>{visitor.email}</bdi>
      <br />
      <bdi class="quiet">{visitor.accountName}</bdi>
    </p>
    <div>{children}</div>
  </div>
)

/** The navigation. On a narrow screen it is a popover that the menu button opens. */
const Sidebar = ({
  current,
  returnTo,
  visitor
}: {
  readonly visitor: Visitor | undefined
  readonly current: string | undefined
  readonly returnTo: string
}) => {
  const t = useWords()
  return (
    <nav class="side" id="menu" popover="auto" aria-label={t("Sections")}>
      <a class="brand" href={paths.home}>
        <Mark />
        {t("Catalog")}
      </a>
      <Links of={sections} current={current} />
      <h2 id="settings">{t("Settings")}</h2>
      <Links of={settings} current={current} />
      {visitor !== undefined && (
        <Who visitor={visitor}>
          <ThemeSwitch visitor={visitor} />
          <SignOut visitor={visitor} returnTo={returnTo} />
        </Who>
      )}
    </nav>
  )
}

const shortcuts: ReadonlyArray<{ readonly keys: ReadonlyArray<string>; readonly does: Sentence }> = [
  { keys: ["/"], does: "Search products" },
  { keys: ["Ctrl", "K"], does: "Go to a page or search (⌘ K on a Mac)" },
  { keys: ["?"], does: "Show this help" },
  { keys: ["Esc"], does: "Close the open menu, dialog or form" },
  { keys: ["Enter"], does: "Edit the value that has the focus (also F2); arrows move between values" },
  { keys: ["Tab"], does: "Save a changed value and edit the next (Alt ↓: its other actions)" }
]

const meanings: ReadonlyArray<{ readonly tone: string; readonly name: Sentence; readonly means: Sentence }> = [
  { tone: "good", name: "Live", means: "The store has the values of the catalog." },
  { tone: "wait", name: "Changed", means: "The catalog has changes that are not published to the store yet." },
  { tone: "busy", name: "Publishing", means: "The draft is on its way to the store." },
  { tone: "bad", name: "Failed", means: "The last publish to the store failed." },
  { tone: "idle", name: "Not published", means: "It was never published to the store." },
  { tone: "idle", name: "Not on this store", means: "It was not added to the store." }
]

const Help = () => {
  const t = useWords()
  return (
    <div class="panel" id="help" popover="auto" tabindex={0}>
      <h2>{t("Keyboard")}</h2>
      <dl class="keys">
        {shortcuts.flatMap(({ does, keys }) => [
          <dt key={does}>
            {keys.map((key, index) => (
              <span key={key}>
                {index > 0 && " "}
                <kbd>{key}</kbd>
              </span>
            ))}
          </dt>,
          <dd key={`${does} what`}>{t(does)}</dd>
        ])}
      </dl>
      <h2>{t("States")}</h2>
      <dl class="keys">
        {meanings.flatMap(({ means, name, tone }) => [
          <dt key={name}>
            <span class={`state ${tone}`}>{t(name)}</span>
          </dt>,
          <dd key={`${name} means`}>{t(means)}</dd>
        ])}
      </dl>
    </div>
  )
}

/** The commands of the palette that are not pages of the navigation. Their forms are on such pages too. */
const Commands = () => {
  const t = useWords()
  return (
    <ul hidden>
      {commands.map(({ icon, name, needs, path }) => (
        <Allowed to={needs} key={name}>
          <li>
            <a href={path} data-command>
              <Icon name={icon} />
              {t(name)}
            </a>
          </li>
        </Allowed>
      ))}
    </ul>
  )
}

const Top = () => {
  const t = useWords()
  return (
    <header class="top">
      <button type="button" class="bare icon-only show-menu" popovertarget="menu" aria-label={t("Menu")}>
        <Icon name="menu" />
      </button>
      <search>
        <form method="get" action={paths.products} class="find">
          <Icon name="search" />
          <input
            type="search"
            name="search"
            aria-label={t("Search products")}
            placeholder={t("Search products")}
            maxLength={200}
            data-find
          />
          <kbd>/</kbd>
        </form>
      </search>
      <div class="end">
        <button
          type="button"
          class="bare icon-only"
          data-palette={t("Go to a page, find a product or collection, or choose a command")}
          data-pages={t("Pages, products and commands")}
          data-product={t("Product")}
          data-collection={t("Collection")}
          data-results={t("Results: {count}", { count: "{count}" })}
          data-none={t("No results")}
          data-failed={t("The search did not answer. Type again to repeat it.")}
          data-go-to={t("Go to")}
          data-search-for={t("Search products for “{search}”", { search: "{search}" })}
          hidden
          aria-label={t("Go to a page")}
          title={t("Go to (Ctrl K)")}
        >
          <Icon name="command" />
        </button>
        <button type="button" class="bare icon-only" popovertarget="help" aria-label={t("Help")} title={t("Help (?)")}>
          <Icon name="circle-question-mark" />
        </button>
      </div>
      <Commands />
      <Help />
    </header>
  )
}

/** The banner that an import locks the account. The page of that import does not show it. */
const LockBanner = ({ lock }: { readonly lock: NonNullable<Visitor["lock"]> }) => {
  const t = useWords()
  return (
    <div class="banner" role="status">
      <Icon name="lock" />
      <p>
        {t.rich(
          lock.isPaused
            ? "{import} is paused. Until somebody resumes or cancels it the catalog cannot be changed."
            : lock.phase === "applying"
              ? "{import} is being applied. Until it ends the catalog cannot be changed."
              : lock.phase === "fetching"
                ? "{import} is being compared with the catalog. Until it is accepted or discarded the catalog cannot be changed."
                : "{import} waits for your review. Until you accept or discard it the catalog cannot be changed.",
          { import: <a href={pageOf(paths.import, lock.id)}>{importTitle(t, lock)}</a> }
        )}
      </p>
    </div>
  )
}

/** The event stream of a page with live parts. */
const eventsOf = (visitor: Visitor | undefined): string | undefined =>
  visitor?.workState === undefined ? undefined : `${paths.events}?${new URLSearchParams({ state: visitor.workState })}`

/**
 * The frame of all pages. `current`: the section of the page; `returnTo`: the page to show after the next sign-in; `narrow`: the
 * page has a single form; `withSections`: whether to show the navigation; `total`: the number beside the title; `actions`: buttons
 * and links beside it; `isLockShown`: the page itself tells that an import locks the account; `theme`: the colours, if there is no visitor.
 */
export const Frame = ({
  actions,
  children,
  current,
  isLockShown = false,
  narrow = false,
  returnTo = paths.home,
  theme,
  title,
  total,
  visitor,
  withSections = visitor !== undefined && current !== undefined
}: {
  readonly title: string
  readonly visitor?: Visitor | undefined
  readonly current?: string
  readonly returnTo?: string
  readonly narrow?: boolean
  readonly withSections?: boolean
  readonly isLockShown?: boolean
  readonly theme?: Theme
  readonly total?: string | undefined
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}): VNode => {
  const t = useWords()

  const heading = <h1>{title}</h1>
  const content = (
    <main id="content" class={narrow ? "narrow" : undefined} data-events={eventsOf(visitor)}>
      {actions === undefined && total === undefined ? (
        heading
      ) : (
        <div class="head">
          {heading}
          {total !== undefined && <span class="total number">{total}</span>}
          <div class="actions">{actions}</div>
        </div>
      )}
      {children}
    </main>
  )
  const chosen = visitor?.theme ?? theme ?? "system"
  return (
    <html lang={t.language} dir={directionIn(t.language)} {...(chosen === "system" ? {} : { "data-theme": chosen })}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${title} - Catalog`}</title>
        <link rel="icon" href={assetPaths.icon} />
        <link rel="stylesheet" href={assetPaths.stylesheet} />
        {withSections && <script type="module" src={assetPaths.script} />}
      </head>
      <body class={withSections ? "framed" : "bare"}>
        <a class="skip" href="#content">
          {t("Skip to the content")}
        </a>
        {withSections ? (
          <>
            <Sidebar visitor={visitor} current={current} returnTo={returnTo} />
            <div class="column">
              <Top />
              {!isLockShown && visitor?.lock !== undefined && <LockBanner lock={visitor.lock} />}
              {content}
              {visitor?.workState !== undefined && (
                <div
                  id="live-says"
                  class="spoken"
                  aria-live="polite"
                  data-ended={t("Your session has ended. Sign in again to go on: what you typed stays here.")}
                />
              )}
            </div>
          </>
        ) : (
          <>
            <header>
              <span class="brand">
                <Mark />
                {t("Catalog")}
              </span>
              {visitor !== undefined && (
                <Who visitor={visitor}>
                  <SignOut visitor={visitor} returnTo={returnTo} />
                </Who>
              )}
            </header>
            {content}
          </>
        )}
      </body>
    </html>
  )
}

/** An error message, at the top of a page or of a form. */
export const Alert = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="alert" role="alert">
    {children}
  </div>
)

/** Why the last form was refused. Undefined: it was not. */
export const Refusal = ({ text }: { readonly text: Saying | undefined }) => {
  const t = useWords()
  return text === undefined ? null : (
    <Alert>
      <p>{t.say(text)}</p>
    </Alert>
  )
}

/** A flash message: the result of the last form. */
export const Note = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="note" role="status">
    {children}
  </div>
)

/** A time in the visitor's zone, to the minute. */
export const Time = ({ at }: { readonly at: string }) => <time dateTime={at}>{timeIn(at, useContext(Viewer))}</time>
