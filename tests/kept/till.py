"""What the shop computes, without anything that has to be imported."""


def prices(count):
    for number in range(count):
        yield number * 7919 % 1009


class Till:
    def __init__(self, orders):
        self.orders = orders

    def rank(self, half=True):
        ranked = sorted(self.orders, key=lambda price: (price % 10, price))
        return sum(ranked[: len(ranked) // 2] if half else ranked)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def main():
    for count in (5, 7, 9):
        Till(list(prices(count))).rank(count > 5)
    Till((3, 2, 1)).rank()
    fib(6)


main()
