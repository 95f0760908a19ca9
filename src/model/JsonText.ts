declare const described: unique symbol

/** JSON text of a value of type A, built where the value is read and passed on as it is. Its shape is proven by tests. */
export class JsonText<A> {
  declare readonly [described]: A
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
