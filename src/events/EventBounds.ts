export interface EventBounds {
  /** Maximum open streams of an account in this process. */
  readonly perAccount: number
  /** Maximum open streams of a session in this process. */
  readonly perSession: number
}

export const defaultEventBounds: EventBounds = { perAccount: 100, perSession: 8 }
