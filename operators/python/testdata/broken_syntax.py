def f(batch)
    return batch
