import { type ComponentChildren, createContext } from "preact"
import { useContext } from "preact/hooks"
import { includesRole, type Role } from "../model/Role.ts"
import type { Language } from "./languages/Language.ts"
import { type Words, wordsIn } from "./languages/Words.tsx"

/** For whom a page is rendered. */
export interface ViewerOf {
  readonly role: Role
  /** A name of the IANA database. Null: UTC. */
  readonly timeZone: string | null
  /** The language of the pages. */
  readonly pageLanguage: Language
}

/** Without a visitor nothing is offered that needs more than the lowest role. */
export const Viewer = createContext<ViewerOf>({ role: "view", timeZone: null, pageLanguage: "en" })

/** A viewer who is not signed in. */
export const anonymousViewer = (pageLanguage: Language): ViewerOf => ({ role: "view", timeZone: null, pageLanguage })

/** The words of the pages in the language of their viewer. */
export const useWords = (): Words => wordsIn(useContext(Viewer).pageLanguage)

/** Whether the visitor's role includes this one. */
export const useMay = (needed: Role): boolean => includesRole(useContext(Viewer).role, needed)

/** Content for visitors whose role includes `to`: buttons and links that the others may not use. */
export const Allowed = ({
  children,
  otherwise = null,
  to
}: {
  readonly to: Role
  readonly children: ComponentChildren
  readonly otherwise?: ComponentChildren
}) => <>{useMay(to) ? children : otherwise}</>
