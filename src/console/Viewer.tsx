import { type ComponentChildren, createContext } from "preact"
import { useContext } from "preact/hooks"
import { includesRole, type Role } from "../model/Role.ts"

/** For whom a page is rendered. The frame sets it from the visitor. */
export interface ViewerOf {
  readonly role: Role
  /** A name of the IANA database. Null: UTC. */
  readonly timeZone: string | null
}

/** Without a visitor nothing is offered that needs more than the lowest role. */
export const Viewer = createContext<ViewerOf>({ role: "view", timeZone: null })

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
