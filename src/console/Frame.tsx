import type { ComponentChildren, VNode } from "preact"
import type { Visitor } from "./Browser.ts"
import { fieldNames } from "./Fields.ts"
import { paths, sections } from "./Paths.ts"
import { stylesheetPath } from "./Style.ts"

/** The CSRF token, which every form with an effect needs, and the id of the record that the form changes or creates. */
export const HiddenFields = ({ csrf, id }: { readonly csrf: string; readonly id?: string | undefined }) => (
  <>
    <input type="hidden" name={fieldNames.csrf} value={csrf} />
    {id !== undefined && <input type="hidden" name="id" value={id} />}
  </>
)

const SignOut = ({ visitor, returnTo }: { readonly visitor: Visitor; readonly returnTo: string }) => (
  <form method="post" action={paths.signOut}>
    <HiddenFields csrf={visitor.csrf} />
    <input type="hidden" name={fieldNames.returnTo} value={returnTo} />
    <button type="submit" class="plain">
      Sign out
    </button>
  </form>
)

const Navigation = ({ current }: { readonly current: string | undefined }) => (
  <nav aria-label="Sections">
    <ul>
      {sections.map(({ name, path }) => (
        <li key={path}>
          <a href={path} {...(path === current ? { "aria-current": "page" as const } : {})}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/**
 * The frame of all pages. `current`: the section of the page; `returnTo`: the page to show after the next sign-in; `narrow`: the
 * page has a single form; `withSections`: whether to show the navigation.
 */
export const Frame = ({
  children,
  current,
  narrow = false,
  returnTo = paths.home,
  title,
  visitor,
  withSections = visitor !== undefined && current !== undefined
}: {
  readonly title: string
  readonly visitor?: Visitor | undefined
  readonly current?: string
  readonly returnTo?: string
  readonly narrow?: boolean
  readonly withSections?: boolean
  readonly children: ComponentChildren
}): VNode => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="robots" content="noindex" />
      <title>{`${title} - Catalog`}</title>
      <link rel="stylesheet" href={stylesheetPath} />
    </head>
    <body>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="site">
        <div>
          <span class="brand">Catalog</span>
          {withSections && <Navigation current={current} />}
          {visitor !== undefined && (
            <div class="who">
              <span>
                {visitor.email}{" "}
                <span class="quiet">
                  (<bdi>{visitor.accountName}</bdi>)
                </span>
              </span>
              <SignOut visitor={visitor} returnTo={returnTo} />
            </div>
          )}
        </div>
      </header>
      <main id="content" class={narrow ? "narrow" : undefined}>
        <h1>{title}</h1>
        {children}
      </main>
    </body>
  </html>
)

/** An error message, at the top of a page or of a form. */
export const Alert = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="alert" role="alert">
    {children}
  </div>
)

/** Why the last form was refused. Undefined: it was not. */
export const Refusal = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <Alert>
      <p>{text}</p>
    </Alert>
  )

/** A flash message: the result of the last form. */
export const Note = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="note" role="status">
    {children}
  </div>
)

/** A time in UTC, to the minute. */
export const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at}>{`${at.slice(0, 10)} ${at.slice(11, 16)} UTC`}</time>
)
