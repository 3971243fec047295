"""Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks") for the matrices of the layers, Adam for the rest."""

import torch

MOMENTUM = 0.95
ADAM_BETAS = (0.9, 0.98)


def orthogonal(matrix, steps=5):
    """The nearest matrix whose singular values are all about one, by a Newton-Schulz iteration of fifth degree."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix / (matrix.norm() + 1e-7)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x if wide else x.T


class Optimizer:
    def __init__(self, model):
        self.matrices = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and name != "embedding"]
        others = [weight for name, weight in model.named_parameters() if weight.ndim == 1 or name == "embedding"]
        self.adam = torch.optim.Adam(others, betas=ADAM_BETAS, eps=1e-10)
        self.moments = [torch.zeros_like(weight) for weight in self.matrices]

    @torch.no_grad()
    def step(self, matrix_rate, other_rate, decay):
        for weight, moment in zip(self.matrices, self.moments, strict=True):
            moment.mul_(MOMENTUM).add_(weight.grad, alpha=1 - MOMENTUM)
            update = orthogonal(weight.grad.lerp(moment, MOMENTUM)) * max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
            weight.mul_(1 - matrix_rate * decay).add_(update, alpha=-matrix_rate)
            weight.grad = None
        for group in self.adam.param_groups:
            group["lr"] = other_rate
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)

    def state(self):
        return {"adam": self.adam.state_dict(), "moments": self.moments}

    def load(self, state):
        self.adam.load_state_dict(state["adam"])
        self.moments = state["moments"]
